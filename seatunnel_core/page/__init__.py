"""The page in a browser: its files, which a node and the process of a single job serve, and what it asks beside REST.

The page is made of the files in ``static``: plain modules of JavaScript, which ask REST and nothing else. The libraries
lie in ``static/vendor``; ``libraries.json`` says which they are. Nothing is built, and nothing comes from elsewhere.
"""
