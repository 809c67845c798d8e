"""What knows nothing of learning: errors, files, ranges, arrays, statistics, devices."""
