"""The report page about contests."""
