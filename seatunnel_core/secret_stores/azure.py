"""``secret://azure/VAULT/NAME[/VERSION]``: Azure Key Vault with Azure's default credential."""

from seatunnel_storage_api.discovery import hookimpl
from seatunnel_storage_api.secret_store import SecretStore


class AzureSecrets(SecretStore):
    """Secrets in Azure Key Vault, in the vault ``https://VAULT.vault.azure.net``; by default the current version."""

    def get(self, name: str) -> str:
        vault, _, rest = name.partition("/")
        secret, _, version = rest.partition("/")
        if not secret:
            raise LookupError("expected secret://azure/VAULT/NAME")
        from azure.core.exceptions import ResourceNotFoundError
        from azure.identity import DefaultAzureCredential
        from azure.keyvault.secrets import SecretClient

        url = f"https://{vault}.vault.azure.net"
        try:
            answer = SecretClient(url, DefaultAzureCredential()).get_secret(secret, version or None)
        except ResourceNotFoundError:
            raise LookupError(f"{url} has no secret {secret}") from None
        return answer.value or ""


@hookimpl
def seatunnel_secret_store() -> SecretStore:
    """Return the store."""
    return AzureSecrets()
