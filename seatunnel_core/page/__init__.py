"""Web page: its files, served by nodes and by processes of single jobs, and the server for a single job.

The page consists of the files in ``static``: plain JavaScript modules that use only REST. The libraries are in
``static/vendor``, listed in ``libraries.json``. There is no build step, and nothing is loaded from other hosts.
"""
