"""Conformance harness: runs case files in the format of the conformance README, stage by stage."""
