#!/usr/bin/env bash
# The first process of the node's namespaces. It starts the cluster, writes "ready" to file descriptor 3, and waits.
# Whatever it starts ends with it.
#
#   KUBE_DIR  certificates (pki), logs (log), and the image pause.tar
#   KUBE_BIN  the programs of Kubernetes, and dns
set -euo pipefail
trap 'echo "node.sh failed at line $LINENO" >&2; exit 1' ERR
pki=$KUBE_DIR/pki log=$KUBE_DIR/log

hostname node1
mount --make-rshared /
mount -t sysfs sysfs /sys
mount -t tmpfs cgroup /sys/fs/cgroup
while read -r name _; do
	mkdir "/sys/fs/cgroup/$name"
	if [[ $name == systemd ]]; then
		mount -t cgroup -o none,name=systemd systemd "/sys/fs/cgroup/$name"
	else
		mount -t cgroup -o "$name" "$name" "/sys/fs/cgroup/$name"
	fi
done < "$KUBE_DIR/cgroups"
# All that the node writes is in memory, and ends with its namespaces. Under /var/lib and /var/log the machine's files can
# still be read, and what the node writes lies over them.
mount -t tmpfs -o mode=755 node /run
for folder in /var/lib /var/log; do
	mkdir -p "/run/over$folder" "/run/work$folder"
	mount -t overlay -o "lowerdir=$folder,upperdir=/run/over$folder,workdir=/run/work$folder" node "$folder"
done
for folder in cni containerd etcd kubelet volumes; do
	mkdir -p "/var/lib/$folder"
	mount -t tmpfs -o mode=755 node "/var/lib/$folder"
done
mkdir -p /run/lock /run/sys /run/containerd /run/cni /var/log/pods
# A kubelet sets these for the whole machine unless it finds its own values. It finds them here.
while read -r name value; do
	echo "$value" > "/run/sys/${name//\//.}"
	mount --bind "/run/sys/${name//\//.}" "/proc/sys/$name"
done <<-'S'
	vm/overcommit_memory 1
	vm/panic_on_oom 0
	kernel/panic 10
	kernel/panic_on_oops 1
	kernel/keys/root_maxkeys 1000000
	kernel/keys/root_maxbytes 25000000
S

# Addresses are of 198.18.0.0/15, which is for measurements, and fd18::/16. No route leads out.
ip link set lo up
ip link add node0 type veth peer name node0p
ip link set node0 up
ip link set node0p up
ip addr add 198.18.0.1/24 dev node0
ip -6 addr add fd18::1/64 dev node0 nodad
ip route add default dev node0
ip -6 route add default dev node0
for name in ipv4/ip_forward ipv6/conf/all/forwarding bridge/bridge-nf-call-iptables bridge/bridge-nf-call-ip6tables; do
	echo 1 > "/proc/sys/net/$name"
done
services=198.18.32.0/20,fd18:2::/112 pods=198.18.16.0/20,fd18:1::/56

begin() { # NAME COMMAND: in the background, with a log of its own
	local name=$1
	shift
	"$@" > "$log/$name.log" 2>&1 < /dev/null 3>&- &
}
until_ok() { # SECONDS COMMAND
	local seconds=$1
	shift
	for ((i = 0; i < seconds * 5; i++)); do
		if "$@" > /dev/null 2>&1; then return 0; fi
		sleep 0.2
	done
	echo "not so after $seconds seconds: $*" >&2
	return 1
}
kubectl() { KUBECONFIG=$pki/admin.conf "$KUBE_BIN/kubectl" "$@"; }

begin etcd etcd --data-dir /var/lib/etcd --unsafe-no-fsync --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
	--listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380 --initial-cluster default=http://127.0.0.1:2380
cat > /run/containerd.toml <<-C
	version = 2
	root = "/var/lib/containerd"
	state = "/run/containerd"
	disabled_plugins = ["io.containerd.internal.v1.opt"] # it would make a folder in /opt
	[grpc]
	  address = "/run/containerd/containerd.sock"
	[plugins."io.containerd.grpc.v1.cri"]
	  sandbox_image = "localhost/pause:1"
	  restrict_oom_score_adj = true # without CAP_SYS_RESOURCE runc cannot lower it
	  [plugins."io.containerd.grpc.v1.cri".cni]
	    bin_dir = "/usr/lib/cni"
	    conf_dir = "/run/cni"
	  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
	    runtime_type = "io.containerd.runc.v2"
C
cat > /run/cni/10-pods.conflist <<-C
	{"cniVersion": "1.0.0", "name": "pods", "plugins": [
	  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
	   "ipam": {"type": "host-local", "dataDir": "/var/lib/cni", "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
	     "ranges": [[{"subnet": "198.18.16.0/24"}], [{"subnet": "fd18:1::/64"}]]}},
	  {"type": "portmap", "capabilities": {"portMappings": true}}]}
C
begin containerd containerd --config /run/containerd.toml
until_ok 60 curl -sf http://127.0.0.1:2379/health
begin apiserver "$KUBE_BIN/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 --bind-address=0.0.0.0 --advertise-address=198.18.0.1 \
	--service-cluster-ip-range=$services --client-ca-file="$pki/ca.crt" --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
	--kubelet-client-certificate="$pki/admin.crt" --kubelet-client-key="$pki/admin.key" --kubelet-certificate-authority="$pki/ca.crt" \
	--kubelet-preferred-address-types=InternalIP --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
	--service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$pki/sa.key" --service-account-signing-key-file="$pki/sa.key"
until_ok 180 curl -sf --cacert "$pki/ca.crt" --cert "$pki/admin.crt" --key "$pki/admin.key" https://127.0.0.1:6443/readyz
begin controllers "$KUBE_BIN/kube-controller-manager" --kubeconfig="$pki/controllers.conf" --leader-elect=false --use-service-account-credentials \
	--root-ca-file="$pki/ca.crt" --service-account-private-key-file="$pki/sa.key" --allocate-node-cidrs --service-cluster-ip-range=$services \
	--cluster-cidr=$pods --flex-volume-plugin-dir=/var/lib/kubelet/flex
begin scheduler "$KUBE_BIN/kube-scheduler" --kubeconfig="$pki/scheduler.conf" --leader-elect=false
echo "nameserver 127.0.0.1" > /run/resolv.conf
cat > /run/kubelet.yaml <<-C
	apiVersion: kubelet.config.k8s.io/v1beta1
	kind: KubeletConfiguration
	failCgroupV1: false
	cgroupDriver: cgroupfs
	containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
	volumePluginDir: /var/lib/kubelet/flex
	clusterDNS: [198.18.0.1]
	clusterDomain: cluster.local
	resolvConf: /run/resolv.conf
	failSwapOn: false
	authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
	authorization: {mode: Webhook}
	tlsCertFile: $pki/node.crt
	tlsPrivateKeyFile: $pki/node.key
	syncFrequency: 5s # how soon a Secret that changed is in the pods
	evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
	imageGCHighThresholdPercent: 100
	maxPods: 110
	kubeAPIQPS: 200 # many scenes run beside each other on the one node
	kubeAPIBurst: 400
C
until_ok 60 ctr version
ctr -n k8s.io images import "$KUBE_DIR/pause.tar" > /dev/null
begin kubelet "$KUBE_BIN/kubelet" --config=/run/kubelet.yaml --kubeconfig="$pki/kubelet.conf" --hostname-override=node1 --node-ip=198.18.0.1,fd18::1 --v=2
until_ok 120 kubectl get node node1
begin proxy "$KUBE_BIN/kube-proxy" --kubeconfig="$pki/proxy.conf" --proxy-mode=nftables --hostname-override=node1 --cluster-cidr=$pods \
	--conntrack-max-per-core=0 --conntrack-min=0 --conntrack-tcp-timeout-established=0s --conntrack-tcp-timeout-close-wait=0s
begin dns "$KUBE_BIN/dns" 198.18.0.1:53 https://127.0.0.1:6443 "$pki/ca.crt" "$pki/admin.crt" "$pki/admin.key"
until_ok 1 kubectl wait --for=condition=Ready node/node1 --timeout=120s
until_ok 60 kubectl get serviceaccount default
echo ready >&3
exec 3>&-
trap - ERR
set +e
while :; do # the first process buries those whose parents have ended
	sleep 3600 &
	wait $!
done
