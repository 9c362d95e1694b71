"""``secret://aws/NAME``: AWS Secrets Manager through boto3, with its usual region and credentials."""

from seatunnel_storage_api.discovery import hookimpl
from seatunnel_storage_api.secret_store import SecretStore


class AwsSecrets(SecretStore):
    """Secrets in AWS Secrets Manager, by name or ARN; always the newest version."""

    def get(self, name: str) -> str:
        import boto3

        client = boto3.client("secretsmanager")
        try:
            answer = client.get_secret_value(SecretId=name)
        except client.exceptions.ResourceNotFoundException:
            raise LookupError(f"{client.meta.region_name} has no secret {name}") from None
        if "SecretString" not in answer:
            raise LookupError(f"the secret {name} is binary; store a string")
        return str(answer["SecretString"])


@hookimpl
def seatunnel_secret_store() -> SecretStore:
    """Return the store."""
    return AwsSecrets()
