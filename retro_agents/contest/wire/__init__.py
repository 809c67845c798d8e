"""The messages between both sides, and the records that the server writes."""
