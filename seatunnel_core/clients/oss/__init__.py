"""Client code for Alibaba Cloud OSS, built on oss2."""
