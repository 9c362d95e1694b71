"""``OssFile``: objects of Alibaba Cloud OSS as files."""
