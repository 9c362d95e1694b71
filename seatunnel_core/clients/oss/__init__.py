"""Client for Alibaba Cloud OSS, built on oss2."""
