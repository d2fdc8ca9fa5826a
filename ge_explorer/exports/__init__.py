"""A graph or a compiled state as files of other tools: ONNX, GE's dump text. One file per format."""
