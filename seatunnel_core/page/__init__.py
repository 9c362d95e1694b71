"""The web page: its files, which nodes and processes of single jobs serve, and the requests of a single job's page.

The page consists of the files in ``static``: plain JavaScript modules that use only REST. The libraries are in
``static/vendor``, listed in ``libraries.json``. There is no build step, and nothing is loaded from other hosts.
"""
