"""Documents in Elasticsearch 8.19 and 9, by the official client.

`mapping.py` how an index is laid out, `sources.py` a document to what is kept and back, `bodies.py` a query to search
bodies, `ranking.py` exact scores over what came back, `bulk.py` writing, `client.py` the connection and its errors,
`vectors.py` embedding in the background, `engine.py` the port.
"""

from retrieval.index.elasticsearch.client import version_of
from retrieval.index.elasticsearch.engine import open_engine

__all__ = ["open_engine", "version_of"]
