#!/bin/sh
# Stops the server where the package goes: dpkg says remove then, and rpm 0. The data stays.
set -e
if [ -d /run/systemd/system ]; then
  case "$1" in
    remove | 0) systemctl disable --now contactbase.socket contactbase.service ;;
  esac
fi
