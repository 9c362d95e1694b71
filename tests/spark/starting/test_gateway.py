"""What the JVM is launched with."""

import os
import subprocess
from pathlib import Path

from pyspark import SparkConf

from seatunnel_core.spark.starting.gateway import public_part, secret_file
from seatunnel_core.spark.starting.java import find_java
from seatunnel_core.spark.starting.settings import cache_folder


def test_the_jvm_is_launched_without_secrets(tmp_path: Path) -> None:
    """PySpark puts each option into the command line of the JVM, where ``ps`` shows it to every user."""
    conf = SparkConf(loadDefaults=False).set("spark.hadoop.fs.s3a.secret.key", "hush").set("spark.driver.memory", "1g")
    conf.set("spark.authenticate.secret", "hush").set("spark.master", "local[1]")
    assert dict(public_part(conf, tmp_path).getAll()) == {"spark.driver.memory": "1g", "spark.master": "local[1]"}
    assert conf.get("spark.hadoop.fs.s3a.secret.key") == "hush"


def test_java_options_with_secrets_are_in_a_private_file(tmp_path: Path) -> None:
    conf = SparkConf(loadDefaults=False, _jvm=None)
    conf.set("spark.driver.extraJavaOptions", '-Xss4m -Dstore.password=a\\"b "-Dtoken=c d" -Dx=y')
    conf.set("spark.executor.extraJavaOptions", "-Djavax.net.ssl.keyStorePassword=hunter2")
    conf.set("spark.odd", "https://me:hunter2@host/x")
    found = dict(public_part(conf, tmp_path).getAll())
    path = tmp_path / "java-options"
    assert found == {"spark.driver.extraJavaOptions": f"-Xss4m -Dx=y @{path}"}
    assert path.read_text() == '"-Dstore.password=a\\"b"\n"-Dtoken=c d"\n'
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_jvm_reads_java_options_from_that_file(tmp_path: Path) -> None:
    conf = SparkConf(loadDefaults=False, _jvm=None)
    conf.set("spark.driver.extraJavaOptions", '"-Dstore.password=a\\\\b\\"c d"')
    flags = dict(public_part(conf, tmp_path).getAll())["spark.driver.extraJavaOptions"]
    java = Path(find_java(os.environ, cache_folder(os.environ)).home, "bin", "java")
    command = [str(java), flags, "-XshowSettings:properties", "-version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 'store.password = a\\b"c d\n' in said.stderr, said.stderr


def test_logins_of_repositories_are_in_a_file_of_properties(tmp_path: Path) -> None:
    conf = SparkConf(loadDefaults=False, _jvm=None)
    conf.set("spark.jars.repositories", "https://me:hunter2@host/maven")
    path = secret_file(conf, tmp_path)
    assert path is not None
    assert path.read_text() == "spark.jars.repositories https://me:hunter2@host/maven\n"
    assert not public_part(conf, tmp_path).getAll()
    assert secret_file(SparkConf(loadDefaults=False, _jvm=None), tmp_path) is None
