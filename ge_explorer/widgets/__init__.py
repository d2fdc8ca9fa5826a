"""What shows the views in Jupyter. The only folder that imports ipywidgets, traitlets, anywidget, bokeh or IPython."""
