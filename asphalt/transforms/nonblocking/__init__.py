"""Blocking calls become starts and waits; a wait for many operations becomes single waits."""
