"""Values to picture models, and the text forms made from them (SVG, Mermaid, DOT, Markdown, HTML). No Jupyter here."""
