"""Basics that know nothing of learning: errors, files, ranges, arrays, statistics, devices."""
