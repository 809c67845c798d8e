"""The contest: agents play levels under its rules, and their runs are scored."""
