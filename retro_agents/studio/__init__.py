"""The studio: a page of this machine that shows, compares and steers runs."""
