from pyspark import SparkConf

from seatunnel_core.spark.starting.gateway import public_part


def test_the_jvm_is_launched_without_secrets() -> None:
    """PySpark puts each option into the command line of the JVM, where ``ps`` shows it to every user."""
    conf = SparkConf(loadDefaults=False).set("spark.hadoop.fs.s3a.secret.key", "hush").set("spark.driver.memory", "1g")
    conf.set("spark.authenticate.secret", "hush").set("spark.master", "local[1]")
    assert dict(public_part(conf).getAll()) == {"spark.driver.memory": "1g", "spark.master": "local[1]"}
    assert conf.get("spark.hadoop.fs.s3a.secret.key") == "hush"
