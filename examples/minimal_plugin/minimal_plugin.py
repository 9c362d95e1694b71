import os
from pathlib import Path

from seatunnel_storage_api import CheckpointStorageFactory, configuration
from seatunnel_storage_api.blob import Blob, BlobStorage
from seatunnel_storage_api.discovery import hookimpl


class MinimalStorage(BlobStorage):
    def path(self, key):  # one flat folder: the key job/000001/x.ckpt is the file job%2F000001%2Fx.ckpt
        return Path(self.namespace, key.replace("/", "%2F"))

    def put_if_absent(self, key, body):
        unfinished, folder = self.path(f"~{os.urandom(8).hex()}"), os.open(self.namespace, os.O_RDONLY)
        try:
            with open(unfinished, "xb", buffering=0) as file:
                file.write(body), os.fsync(file)
            self.path(key).hardlink_to(unfinished)  # all or nothing, and never over another file
        except FileExistsError:
            return False
        finally:
            unfinished.unlink(), os.fsync(folder), os.close(folder)
        return True

    def read(self, key):
        return self.path(key).read_bytes() if self.path(key).exists() else None

    def list_blobs(self, prefix):
        files = {path.name.replace("%2F", "/"): path for path in Path(self.namespace).glob("*%2F*")}
        return [Blob(key=key, size_bytes=files[key].stat().st_size) for key in files if key.startswith(prefix)]

    def delete(self, keys):
        [self.path(key).unlink(missing_ok=True) for key in keys]


class MinimalFactory(CheckpointStorageFactory):
    factory_identifier = "minimal"

    def create(self, options):
        configuration.warn(configuration.unknown_keys(options, known=()))
        namespace, kept = configuration.namespace(options), configuration.max_retained(options)
        os.makedirs(namespace, exist_ok=True)
        return MinimalStorage(backend="minimal", namespace=namespace, max_retained=kept)


@hookimpl
def seatunnel_checkpoint_storage():
    return MinimalFactory()
