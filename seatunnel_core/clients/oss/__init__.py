"""Alibaba Cloud OSS, by oss2."""
