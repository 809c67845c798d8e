"""The studio: a local web page that shows, compares and steers runs."""
