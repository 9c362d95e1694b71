"""What tests of ``HdfsFile`` ask a cluster, by requests of their own."""

import getpass
from typing import Any

import requests


class Files:
    """The files of a cluster without security, as its superuser sees them."""

    def __init__(self, http: str) -> None:
        self._url = f"http://{http}/webhdfs/v1"

    def ask(self, method: str, operation: str, path: str, data: bytes | None = None, **more: str) -> requests.Response:
        asked = {"op": operation, "user.name": getpass.getuser(), **more}
        return requests.request(method, f"{self._url}{path}", params=asked, data=data, timeout=30)

    def put(self, path: str, body: bytes) -> None:
        answer = self.ask("PUT", "CREATE", path, body, overwrite="true")
        assert answer.status_code == 201, answer.text

    def get(self, path: str) -> bytes:
        answer = self.ask("GET", "OPEN", path)
        answer.raise_for_status()
        return answer.content

    def delete(self, path: str) -> None:
        self.ask("DELETE", "DELETE", path, recursive="true").raise_for_status()

    def status(self, path: str) -> dict[str, Any] | None:
        answer = self.ask("GET", "GETFILESTATUS", path)
        return None if answer.status_code == 404 else answer.json()["FileStatus"]

    def all_in(self, folder: str) -> list[str]:
        """The paths of all files in a folder and below it."""
        answer = self.ask("GET", "LISTSTATUS", folder)
        if answer.status_code == 404:
            return []
        answer.raise_for_status()
        found: list[str] = []
        for each in answer.json()["FileStatuses"]["FileStatus"]:
            path = f"{folder}/{each['pathSuffix']}"
            found += self.all_in(path) if each["type"] == "DIRECTORY" else [path]
        return found

    def contents(self, folder: str) -> dict[str, bytes]:
        """What is in them; those that vanish meanwhile are left out."""
        found = {}
        for path in self.all_in(folder):
            answer = self.ask("GET", "OPEN", path)
            if answer.ok:
                found[path] = answer.content
        return found
