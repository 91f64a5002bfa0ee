#!/usr/bin/env bash
# start.sh CGROUP: starts the node (node.sh) in namespaces and a cgroup of its own, and waits for its end.
# Whoever kills this process ends the node and whatever runs in it. KUBE_DIR is the node's folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cgroup=$1
# The cgroup is below that of this process. It becomes the root that the node sees.
while IFS=: read -r number name folder; do
	[[ $number != 0 ]] || continue # version 2
	name=${name#name=}
	folder=/sys/fs/cgroup/$name${folder%/}/$cgroup
	mkdir "$folder"
	if [[ $name == cpuset ]]; then
		for f in cpuset.cpus cpuset.mems; do cat "$folder/../$f" > "$folder/$f"; done
	fi
	echo "$name $folder"
done < /proc/self/cgroup > "$KUBE_DIR/cgroups"
while read -r _ folder; do
	echo $$ > "$folder/cgroup.procs"
done < "$KUBE_DIR/cgroups"
exec unshare --mount --cgroup --net --pid --uts --ipc --fork --mount-proc --kill-child bash "$here/node.sh"
