"""Supported keys of Hadoop's clients. Importing this module does not load client libraries."""

DEFAULT_FS = "fs.defaultFS"

OF_PROVIDERS = "seatunnel.credentials."
"""Prefix of the keys of installed credential providers, for S3 and OSS."""

S3 = frozenset(
    {
        "s3.bucket",
        "fs.s3a.access.key",
        "fs.s3a.secret.key",
        "fs.s3a.session.token",
        "fs.s3a.aws.credentials.provider",
        "fs.s3a.assumed.role.arn",
        "fs.s3a.assumed.role.credentials.provider",
        "fs.s3a.assumed.role.external.id",
        "fs.s3a.assumed.role.policy",
        "fs.s3a.assumed.role.session.duration",
        "fs.s3a.assumed.role.session.name",
        "fs.s3a.assumed.role.sts.endpoint",
        "fs.s3a.assumed.role.sts.endpoint.region",
        "fs.s3a.connection.ssl.enabled",
        "fs.s3a.endpoint",
        "fs.s3a.endpoint.region",
        "fs.s3a.path.style.access",
        "fs.s3a.proxy.host",
        "fs.s3a.proxy.password",
        "fs.s3a.proxy.port",
        "fs.s3a.proxy.username",
        "fs.s3a.security.credential.provider.path",
        "fs.s3a.ssl.ca-file",
        "hadoop.security.credential.provider.path",
    }
)

OSS = frozenset(
    {
        "oss.bucket",
        "fs.oss.endpoint",
        "fs.oss.region",
        "fs.oss.accessKeyId",
        "fs.oss.accessKeySecret",
        "fs.oss.securityToken",
        "fs.oss.credentials.provider",
        "fs.oss.ecs.metadata",
        "fs.oss.connection.secure.enabled",
        "fs.oss.connection.establish.timeout",
        "fs.oss.connection.timeout",
        "fs.oss.proxy.host",
        "fs.oss.proxy.port",
        "fs.oss.proxy.username",
        "fs.oss.proxy.password",
    }
)

HDFS = frozenset(
    {
        "disable.cache",
        "kerberosPrincipal",
        "kerberosKeytab",
        "kerberosKeytabFilePath",
        "krb5_path",
        "hdfs_site_path",
        "dfs.namenode.http-address",
        "hadoop.user.name",
        "hadoop.proxy.user",
    }
)
