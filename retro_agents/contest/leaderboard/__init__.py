"""The leaderboard: entries as files, scored on acts that they cannot know, checked by replay."""
