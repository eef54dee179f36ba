"""Nests with transfers in tiles: pipelines along a wave, segments of messages (Danalis et al.).

Exchanges among all ranks belong in ``prepush``.
"""
