"""Logical streams: GE's static chain per scope, automatic multi-stream, continuous numbering."""
