"""PPO2 with a policy that stays the same when the image moves."""
