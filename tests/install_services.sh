#!/bin/sh
# Installs what the tests talk to for real, where that can be done without asking: Debian's Alertmanager, and a JDK with
# Maven, which fetches Elasticsearch.
set -eu
wanted=""
command -v prometheus-alertmanager > /dev/null || command -v alertmanager > /dev/null || wanted="prometheus-alertmanager"
command -v javac > /dev/null || wanted="$wanted openjdk-17-jdk-headless"
command -v mvn > /dev/null || wanted="$wanted maven"
if [ -z "$wanted" ]; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
    echo "not installed: $wanted. The tests that need it are skipped"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# Only the programs: no service may start here.
for one in $wanted; do
    apt-get install -qqy --no-install-recommends "$one" > /dev/null || echo "$one could not be installed"
done
