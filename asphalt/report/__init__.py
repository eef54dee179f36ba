"""Formats of reports: text, drawings, timelines and diffs for people, JSON and SARIF."""
