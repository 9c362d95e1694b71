"""``secret://gcp/PROJECT/NAME[/VERSION]``: GCP Secret Manager with Google's application default credentials."""

from seatunnel_storage_api.discovery import hookimpl
from seatunnel_storage_api.secret_store import SecretStore


class GcpSecrets(SecretStore):
    """Secrets in GCP Secret Manager, by project; by default the latest version."""

    def get(self, name: str) -> str:
        project, _, rest = name.partition("/")
        secret, _, version = rest.partition("/")
        if not secret:
            raise LookupError("expected secret://gcp/PROJECT/NAME")
        from google.api_core.exceptions import NotFound
        from google.cloud import secretmanager

        path = f"projects/{project}/secrets/{secret}/versions/{version or 'latest'}"
        try:
            answer = secretmanager.SecretManagerServiceClient().access_secret_version(name=path)
        except NotFound:
            raise LookupError(f"there is no {path}") from None
        return str(answer.payload.data.decode())


@hookimpl
def seatunnel_secret_store() -> SecretStore:
    """Return the store."""
    return GcpSecrets()
