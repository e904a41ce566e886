"""Gives the wheel what only `make dist` knows: the version, the program, and the machines that it runs on."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class Version(MetadataHookInterface):
    """The version of the workspace."""

    def update(self, metadata):
        metadata["version"] = os.environ["PLUMB_VERSION"]


class Program(BuildHookInterface):
    """The compiled program as a script of the wheel."""

    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = os.environ["PLUMB_TAG"]
        build_data["shared_scripts"][os.environ["PLUMB_PROGRAM"]] = "plumb"
