"""A key distribution centre of MIT Kerberos, as Debian has it, and HDFS that asks for its tickets; ports above 1024."""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import requests

from seatunnel_core.clients import kerberos
from tests.servers.hadoop import HdfsCluster
from tests.servers.process import ServerProcess, cache_folder, free_port, only_one, unavailable

_COMMANDS = ("krb5kdc", "kadmin.local", "kdb5_util")
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
_PACKAGES = "krb5-kdc krb5-admin-server"

# One key per line inside the braces: Java's parser wants it so. kdc_timesync = 0: a clock that is off shows at once.
_CLIENT = """\
[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 kdc_timesync = 0
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 localhost = {realm}
"""

_SERVER = """\
[kdcdefaults]
 kdc_listen = 127.0.0.1:{port}
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/kadm5.acl
  max_life = 1h
  supported_enctypes = aes256-cts-hmac-sha1-96:normal
 }}
[logging]
 kdc = FILE:{folder}/requests.log
"""

# Shifts the clock of the program that it is loaded into by AHEAD_S seconds: an asking client finds the KDC's clock off.
_CLOCK = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long ahead(void) { const char *text = getenv("AHEAD_S"); return text ? atol(text) : 0; }
time_t time(time_t *out) {
    struct timespec now;
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    real(CLOCK_REALTIME, &now);
    time_t moved = now.tv_sec + ahead();
    if (out) *out = moved;
    return moved;
}
int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    int (*real)(struct timeval *restrict, void *restrict) = dlsym(RTLD_NEXT, "gettimeofday");
    int answer = real(out, zone);
    out->tv_sec += ahead();
    return answer;
}
int clock_gettime(clockid_t clock, struct timespec *out) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int answer = real(clock, out);
    if (clock == CLOCK_REALTIME) out->tv_sec += ahead();
    return answer;
}
"""


def build() -> None:
    """Nothing is built: the commands have to be there."""
    missing = [command for command in _COMMANDS if shutil.which(command, path=_PATH) is None]
    if missing:
        unavailable(f"{' and '.join(missing)} not found: apt-get install {_PACKAGES}")


class Kdc:
    """One realm. Its principals have random keys; who wants to be one gets a keytab."""

    def __init__(self, folder: Path, realm: str = "TEST.LOCAL") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.realm = realm
        self.folder = folder
        self.configuration = folder / "krb5.conf"
        """For clients."""

        port = free_port()
        self.configuration.write_text(_CLIENT.format(realm=realm, port=port))
        (folder / "kdc.conf").write_text(_SERVER.format(realm=realm, port=port, folder=folder))
        (folder / "kadm5.acl").touch()
        self._run("kdb5_util", "create", "-s", "-r", realm, "-P", "a test's password")
        self.process = ServerProcess(
            command=[str(shutil.which("krb5kdc", path=_PATH)), "-n"],
            ready=lambda: _answers(port),
            log=folder / "kdc.log",
            environment=dict(self.environment),
        )

    @property
    def environment(self) -> Mapping[str, str]:
        """For the commands of Kerberos, and for clients that run as processes of their own."""
        return {
            "KRB5_CONFIG": str(self.configuration),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5CCNAME": f"MEMORY:{self.realm}",
        }

    def start(self) -> None:
        self.process.start()

    def stop(self) -> None:
        self.process.kill()

    def set_clock(self, ahead_s: int) -> None:
        """Starts it again with a clock that is so far off."""
        clock = {"LD_PRELOAD": str(_clock()), "AHEAD_S": str(ahead_s)} if ahead_s else {}
        self.process.environment = {**self.environment, **clock}
        self.process.restart()

    def add(self, principal: str, keytab: Path | None = None, *, life: str = "1h") -> None:
        """A new principal with tickets that live so long (as ``20s``), and its key in a keytab, beside others."""
        self.command(f"addprinc -randkey -maxlife {life} +requires_preauth {principal}")
        if keytab is not None:
            self.command(f"ktadd -norandkey -k {keytab} {principal}")

    def command(self, words: str) -> str:
        """What ``kadmin.local`` answers."""
        return self._run("kadmin.local", "-r", self.realm, "-q", words)

    def _run(self, command: str, *arguments: str) -> str:
        path = str(shutil.which(command, path=_PATH))
        environment = {**os.environ, **self.environment}
        done = subprocess.run([path, *arguments], env=environment, capture_output=True, text=True, check=False)
        # kadmin.local ends with 0 whatever happened, and names itself where something went wrong.
        problem = [line for line in done.stderr.splitlines() if line.startswith((f"{command}:", "kadmin.local:"))]
        if done.returncode or any("while" in line or "unknown" in line.lower() for line in problem):
            raise RuntimeError(f"{command} {' '.join(arguments)}: {done.stderr}")
        return done.stdout


def _answers(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True


def _clock() -> Path:
    folder = cache_folder("kerberos")
    library = folder / "clock.so"
    with only_one(folder):
        if not library.exists():
            source = folder / "clock.c"
            source.write_text(_CLOCK)
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@contextlib.contextmanager
def secure_hdfs(folder: Path, life: str = "1h") -> Iterator["SecureHdfs"]:
    """A realm and its HDFS, which this process and those that it starts know, until the end."""
    build()
    kdc = Kdc(folder / "kdc")
    with contextlib.ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("KRB5_CONFIG", str(kdc.configuration))
        stack.callback(kdc.stop)
        kdc.start()
        cluster = SecureHdfs(folder / "hdfs", kdc, life)
        stack.callback(cluster.stop)
        cluster.start()
        yield cluster


class SecureHdfs(HdfsCluster):
    """HDFS that asks everybody for a ticket, over RPC and over WebHDFS. The superuser is the principal ``nn``.

    Its start ends only when a request without a ticket was refused: one key less, and WebHDFS stands open.

    Args:
        folder: as for any cluster.
        kdc: running; ``KRB5_CONFIG`` of this process names its configuration.
        life: of the tickets of ``alice``, the user who owns ``/alice``.
    """

    def __init__(self, folder: Path, kdc: Kdc, life: str = "1h") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.kdc = kdc
        self.keytab = folder / "service.keytab"
        self.keytab_of_alice = folder / "alice.keytab"
        kdc.add("alice", self.keytab_of_alice, life=life)
        for service in ("nn", "dn", "HTTP"):
            kdc.add(f"{service}/localhost", self.keytab)
        super().__init__(
            folder,
            host="localhost",
            core_site=self._core_site(folder),
            hdfs_site=self._hdfs_site(),
            jvm=[f"-Djava.security.krb5.conf={kdc.configuration}"],
            writable=self._is_writable,
        )
        self.namenode.ready = lambda: self.without_a_ticket("LISTSTATUS").status_code == 401

    def _core_site(self, folder: Path) -> dict[str, str]:
        secret = folder / "cookies.secret"
        secret.write_bytes(os.urandom(32))
        web = "hadoop.http.authentication"
        return {
            "hadoop.security.authentication": "kerberos",
            "hadoop.security.authorization": "true",
            f"{web}.type": "kerberos",
            f"{web}.kerberos.principal": f"HTTP/localhost@{self.kdc.realm}",
            f"{web}.kerberos.keytab": str(self.keytab),
            f"{web}.signature.secret.file": str(secret),
        }

    def _hdfs_site(self) -> dict[str, str]:
        web = f"HTTP/localhost@{self.kdc.realm}"
        return {
            "dfs.block.access.token.enable": "true",
            "dfs.namenode.kerberos.principal": f"nn/localhost@{self.kdc.realm}",
            "dfs.namenode.keytab.file": str(self.keytab),
            "dfs.namenode.kerberos.internal.spnego.principal": web,
            "dfs.datanode.kerberos.principal": f"dn/localhost@{self.kdc.realm}",
            "dfs.datanode.keytab.file": str(self.keytab),
            "dfs.web.authentication.kerberos.principal": web,
            "dfs.web.authentication.kerberos.keytab": str(self.keytab),
            # Otherwise a DataNode wants a port below 1024, or certificates.
            "ignore.secure.ports.for.testing": "true",
        }

    def start(self) -> None:
        super().start()
        self.give("/alice", "alice")

    def configuration(self, namespace: str) -> dict[str, str]:
        """The keys of the plugin, for alice."""
        login = {kerberos.PRINCIPAL: f"alice@{self.kdc.realm}", kerberos.KEYTAB: str(self.keytab_of_alice)}
        return {**super().configuration(namespace), **login}

    def as_superuser(self) -> requests.Session:
        """A session that may do everything, with tickets."""
        principal = f"nn/localhost@{self.kdc.realm}"
        session = kerberos.session({kerberos.PRINCIPAL: principal, kerberos.KEYTAB: str(self.keytab)})
        assert session is not None
        return session

    def without_a_ticket(self, operation: str, path: str = "/") -> requests.Response:
        """What somebody is told who only says that he is the superuser."""
        return requests.get(self._url(path), params={"op": operation, "user.name": "nn"}, timeout=5)

    def give(self, path: str, owner: str) -> None:
        """Makes a folder that belongs to somebody."""
        with self.as_superuser() as session:
            session.put(self._url(path), params={"op": "MKDIRS", "permission": "755"}, timeout=20).raise_for_status()
            session.put(self._url(path), params={"op": "SETOWNER", "owner": owner}, timeout=20).raise_for_status()

    def _is_writable(self) -> bool:
        path = self._url("/.ready")
        with self.as_superuser() as session:
            written = session.put(path, params={"op": "CREATE", "overwrite": "true"}, data=b"x", timeout=20)
            return written.status_code == 201 and session.delete(path, params={"op": "DELETE"}, timeout=20).ok

    def _url(self, path: str) -> str:
        return f"http://{self.http}/webhdfs/v1{path}"
