#!/bin/sh
# Starts the add-on: converts its options to a configuration, then runs the service and nginx. Ends when one of both ends.
set -eu

data=${ADDON_DATA:-/data}
export XDG_RUNTIME_DIR="$data/run" HOME="$data"
mkdir -p "$XDG_RUNTIME_DIR"
rm -f "$XDG_RUNTIME_DIR"/*.sock

option() { jq -r --arg name "$1" '.[$name] // empty' "$data/options.json"; }
{
    printf 'link = "bluez"\nlisten = "off"\nstore = "%s/waterh.sqlite"\n' "$data"
    for name in units bottle zone; do
        value=$(option $name)
        [ -z "$value" ] || printf '%s = %s\n' "$name" "$(printf '%s' "$value" | jq -Rs .)"
    done
    # If Home Assistant has an MQTT broker, the supervisor provides its address and credentials.
    if [ -n "${SUPERVISOR_TOKEN:-}" ] && broker=$(curl -fsS -m 10 -H "Authorization: Bearer $SUPERVISOR_TOKEN" http://supervisor/services/mqtt); then
        (umask 077 && printf '%s' "$broker" | jq -r .data.password >"$data/mqtt-password")
        printf '[mqtt]\nurl = "%s"\nuser = %s\npassword-file = "%s/mqtt-password"\n' \
            "$(printf '%s' "$broker" | jq -r '.data | (if .ssl then "mqtts" else "mqtt" end) + "://" + .host + ":" + (.port | tostring)')" \
            "$(printf '%s' "$broker" | jq .data.username)" "$data"
    fi
} >"$data/waterh.toml"

waterh-gateway run --config "$data/waterh.toml" &
service=$!
trap 'kill -TERM "$service" 2>/dev/null; wait "$service"; exit 0' TERM INT
# The service creates its socket when it is ready.
socket=
for _ in $(seq 300); do
    for socket in "$XDG_RUNTIME_DIR"/waterh-*.sock; do [ ! -S "$socket" ] || break 2; done
    kill -0 "$service" 2>/dev/null || { wait "$service"; exit $?; }
    sleep 0.1
done
[ -S "$socket" ] || { echo "run.sh: the service did not create its socket within 30 s" >&2; exit 1; }
sed "s|@SOCKET@|$socket|" /etc/waterh/ingress.conf >"$data/ingress.conf"
nginx -c "$data/ingress.conf" -g 'daemon off;' &
proxy=$!
trap 'kill -TERM "$service" "$proxy" 2>/dev/null; wait "$service"; exit 0' TERM INT
while kill -0 "$service" 2>/dev/null && kill -0 "$proxy" 2>/dev/null; do
    # A signal interrupts `wait` at once.
    sleep 2 &
    wait $! || true
done
kill -TERM "$service" "$proxy" 2>/dev/null
wait "$service"
