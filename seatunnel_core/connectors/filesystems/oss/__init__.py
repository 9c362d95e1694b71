"""Alibaba Cloud OSS."""
