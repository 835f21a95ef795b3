"""Programs against themselves: engines compared, all schedules of a small graph, and corpora of cases."""
