"""``secret://vault/MOUNT/PATH#KEY``: HashiCorp Vault, version 2 of its key-value engine, with hvac.

The address and credentials are read from the environment: ``VAULT_ADDR``, ``VAULT_TOKEN``, ``VAULT_NAMESPACE``,
``VAULT_CACERT``.
"""

import json
import os

from seatunnel_storage_api.discovery import hookimpl
from seatunnel_storage_api.secret_store import SecretStore


class VaultSecrets(SecretStore):
    """Secrets in HashiCorp Vault. A secret is a JSON object; ``#KEY`` selects one of its members."""

    def get(self, name: str) -> str:
        import hvac

        mount, _, path = name.partition("/")
        if not path:
            raise LookupError("expected secret://vault/MOUNT/PATH#KEY")
        client = hvac.Client(namespace=os.environ.get("VAULT_NAMESPACE"))
        try:
            answer = client.secrets.kv.v2.read_secret_version(
                path=path, mount_point=mount, raise_on_deleted_version=True
            )
        except hvac.exceptions.InvalidPath:
            raise LookupError(f"the mount {mount} has no secret at {path}") from None
        except hvac.exceptions.Forbidden:
            raise PermissionError("the token in VAULT_TOKEN lacks permission to read the secret") from None
        finally:
            client.adapter.close()
        return json.dumps(answer["data"]["data"])


@hookimpl
def seatunnel_secret_store() -> SecretStore:
    """Return the store."""
    return VaultSecrets()
