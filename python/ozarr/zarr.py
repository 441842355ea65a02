"""The codec pipeline for zarr-python 3: `zarr.config.set({"codec_pipeline.path": "ozarr.zarr.OzarrCodecPipeline"})`.

zarr-python loads every pipeline that is installed, whichever it is told to use. So a zarr-python whose inner parts have other names, or a
library that cannot be loaded, is an error where this pipeline is asked for, and nowhere else.
"""
from zarr.registry import register_pipeline

from ._library import lib

try:
    lib.version()
    from ._pipeline import OzarrCodecPipeline
except ImportError as e:
    reason = str(e)

    class OzarrCodecPipeline:
        """Says why there is no pipeline."""

        @classmethod
        def from_codecs(cls, *args, **more):
            raise ImportError(f"ozarr's codec pipeline cannot be used: {reason}")

        from_array_metadata_and_store = from_codecs

# By this name zarr-python has it in its list.
OzarrCodecPipeline.__module__ = __name__
register_pipeline(OzarrCodecPipeline)
