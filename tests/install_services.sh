#!/bin/sh
# Installs the servers that tests talk to for real (Debian's Alertmanager), where that can be done without asking.
set -eu
if command -v prometheus-alertmanager > /dev/null || command -v alertmanager > /dev/null; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
    echo "prometheus-alertmanager is not installed: the tests that need it are skipped"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# Only the program: its service must not start here.
apt-get install -qqy --no-install-recommends prometheus-alertmanager > /dev/null || echo "prometheus-alertmanager could not be installed"
