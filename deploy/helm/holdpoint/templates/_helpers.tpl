{{- define "holdpoint.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "holdpoint.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 56 | trimSuffix "-" }}
{{- else if contains (include "holdpoint.name" .) .Release.Name }}
{{- .Release.Name | trunc 56 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "holdpoint.name" .) | trunc 56 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "holdpoint.selector" -}}
app.kubernetes.io/name: {{ include "holdpoint.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "holdpoint.labels" -}}
{{ include "holdpoint.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "holdpoint.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "holdpoint.fullname" .) .Values.serviceAccount.name }}
{{- else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{- define "holdpoint.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ end }}
{{- end }}

{{- /* How long connections are still taken: as long as is given, or a fifth of the grace period, 5 seconds at most. */ -}}
{{- define "holdpoint.drainDelay" -}}
{{- if kindIs "invalid" .Values.drainDelaySeconds }}
{{- min 5 (div (sub .Values.terminationGracePeriodSeconds 5) 5) }}
{{- else }}
{{- .Values.drainDelaySeconds }}
{{- end }}
{{- end }}

{{- /* How long open streams run on: the grace period without the delay, and without the 5 seconds of the clean end. */ -}}
{{- define "holdpoint.drainTimeout" -}}
{{- sub (sub .Values.terminationGracePeriodSeconds (include "holdpoint.drainDelay" . | int)) 5 }}
{{- end }}

{{- /* Nine tenths of the memory limit, so that Go collects before the kernel kills. */ -}}
{{- define "holdpoint.memory" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString }}
{{- if regexMatch "^[0-9]+Mi$" $limit }}{{ div (mul (trimSuffix "Mi" $limit | int) 9) 10 }}MiB
{{- else if regexMatch "^[0-9]+Gi$" $limit }}{{ div (mul (trimSuffix "Gi" $limit | int) 9216) 10 }}MiB
{{- end }}
{{- end }}

{{- /* What no schema can say. */ -}}
{{- define "holdpoint.check" -}}
{{- $v := .Values }}
{{- if and (eq $v.mode "desk") (or $v.upstream $v.agent) }}
{{- fail "mode is desk: leave upstream and agent out, it has no agent of its own" }}
{{- end }}
{{- if and (or (eq $v.mode "desk") $v.desk.elsewhere) (has $v.store.type (list "bolt" "memory")) }}
{{- fail (printf "the store %s is for one process, and the desk of many agents is another one: set store.type to redis or postgres" $v.store.type) }}
{{- end }}
{{- if and (eq $v.mode "desk") (not (include "holdpoint.desk" .)) }}
{{- fail "mode is desk: set desk.tokenSecret.name, or another desk.auth" }}
{{- end }}
{{- if and $v.desk.elsewhere (include "holdpoint.desk" .) }}
{{- fail "desk.elsewhere is true, and there is a desk here too: leave one of them out" }}
{{- end }}
{{- if and (gt (int $v.replicas) 1) (has $v.store.type (list "bolt" "memory")) }}
{{- fail (printf "replicas is %d, but the store %s is for one process: set store.type to redis or postgres, and store.url to its address" (int $v.replicas) $v.store.type) }}
{{- end }}
{{- if and $v.autoscaling.enabled (has $v.store.type (list "bolt" "memory")) }}
{{- fail (printf "autoscaling.enabled is true, but the store %s is for one process: set store.type to redis or postgres, and store.url to its address" $v.store.type) }}
{{- end }}
{{- if and $v.autoscaling.enabled (eq $v.mode "desk") }}
{{- fail "autoscaling.enabled is true, but a desk has no runs to scale by: set replicas" }}
{{- end }}
{{- if and $v.autoscaling.enabled (lt (int $v.autoscaling.maxReplicas) (int $v.autoscaling.minReplicas)) }}
{{- fail (printf "autoscaling.maxReplicas is %d, less than minReplicas (%d)" (int $v.autoscaling.maxReplicas) (int $v.autoscaling.minReplicas)) }}
{{- end }}
{{- if and (eq $v.mode "desk") (or $v.ingress.enabled $v.httpRoute.enabled) }}
{{- fail "ingress and httpRoute lead to runs, and a desk has none: docs/desk.md says what to put before a desk" }}
{{- end }}
{{- if and $v.ingress.enabled (not $v.ingress.host) }}
{{- fail "ingress.enabled is true: set ingress.host to the name that clients ask for" }}
{{- end }}
{{- if and $v.httpRoute.enabled (not $v.httpRoute.parentRefs) }}
{{- fail "httpRoute.enabled is true: set httpRoute.parentRefs to your Gateway" }}
{{- end }}
{{- if and (has $v.store.type (list "redis" "postgres")) (not (hasPrefix $v.store.type $v.store.url)) }}
{{- fail (printf "store.type is %s: set store.url to an address that begins with %s" $v.store.type $v.store.type) }}
{{- end }}
{{- if and (has $v.store.type (list "bolt" "memory")) $v.store.url }}
{{- fail (printf "store.url is set, but store.type is %s: set it to redis or postgres" $v.store.type) }}
{{- end }}
{{- if and (eq $v.mode "gateway") (not $v.upstream) }}
{{- fail "upstream is not set: the address of your agent, such as http://agent:8000/" }}
{{- end }}
{{- if and (eq $v.mode "gateway") $v.agent }}
{{- fail "agent is set, but mode is gateway: for a pod of the agent with Holdpoint beside it set mode to sidecar" }}
{{- end }}
{{- if and (eq $v.mode "sidecar") (not $v.agent.image) }}
{{- fail "mode is sidecar: set agent.image to the image of your agent" }}
{{- end }}
{{- if lt (include "holdpoint.drainTimeout" . | int) 1 }}
{{- fail (printf "terminationGracePeriodSeconds is %d: that leaves open streams no time after drainDelaySeconds (%d) and the 5 seconds of a clean end" (int $v.terminationGracePeriodSeconds) (include "holdpoint.drainDelay" . | int)) }}
{{- end }}
{{- if and $v.principal.header (not (and $v.principal.trustedPeers $v.principal.keySecret.name)) }}
{{- fail "principal.header needs principal.trustedPeers, the networks of the proxy that sets it, and principal.keySecret.name" }}
{{- end }}
{{- if and $v.networkPolicy.deskFrom (not (include "holdpoint.desk" .)) }}
{{- fail "networkPolicy.deskFrom needs desk.tokenSecret.name, or another desk.auth: without a token there is no desk" }}
{{- end }}
{{- if and (ne $v.desk.auth "token") (not $v.desk.policy.name) }}
{{- fail (printf "desk.auth is %s: set desk.policy.name to the ConfigMap that says who has which rights" $v.desk.auth) }}
{{- end }}
{{- if and (ne $v.desk.auth "token") $v.desk.tokenSecret.name }}
{{- fail (printf "desk.auth is %s, and desk.tokenSecret is set: leave one of them out" $v.desk.auth) }}
{{- end }}
{{- if and $v.desk.policy.name (not (include "holdpoint.desk" .)) }}
{{- fail "desk.policy needs desk.tokenSecret.name, or another desk.auth: without a token there is no desk" }}
{{- end }}
{{- if and (or $v.webhook.signingSecret.name $v.webhook.template.name) (not $v.webhook.urlSecret.name) }}
{{- fail "webhook.signingSecret and webhook.template need webhook.urlSecret.name, the Secret with the address" }}
{{- end }}
{{- include "holdpoint.kinds" . }}
{{- if $v.requireExisting }}
{{- include "holdpoint.existing" . }}
{{- end }}
{{- range $name := keys $v.config | sortAlpha }}
{{- include "holdpoint.owned" $name }}
{{- end }}
{{- range $v.extraEnv }}
{{- include "holdpoint.owned" .name }}
{{- if hasKey $v.config .name }}
{{- fail (printf "%s is in config and in extraEnv" .name) }}
{{- end }}
{{- end }}
{{- include "holdpoint.extra" . }}
{{- end }}

{{- /* Refuses extra volumes and mounts that the API server, or the kubelet, would refuse later. */ -}}
{{- define "holdpoint.extra" -}}
{{- $names := list }}
{{- $own := list }}
{{- if eq .Values.store.type "bolt" }}{{ $own = append $own "state" }}{{ end }}
{{- if include "holdpoint.secrets" . }}{{ $own = append $own "secrets" }}{{ end }}
{{- range .Values.extraVolumes }}
{{- if has .name $own }}
{{- fail (printf "extraVolumes: the chart has a volume %s of its own, take another name" .name) }}
{{- end }}
{{- if has .name $names }}
{{- fail (printf "extraVolumes has the name %s twice" .name) }}
{{- end }}
{{- $names = append $names .name }}
{{- end }}
{{- $paths := list "/var/lib/holdpoint" "/etc/holdpoint/secrets" }}
{{- range .Values.extraVolumeMounts }}
{{- if not (has .name $names) }}
{{- fail (printf "extraVolumeMounts: %s is not in extraVolumes" .name) }}
{{- end }}
{{- $path := clean .mountPath }}
{{- if or (has $path $paths) (hasPrefix "/etc/holdpoint/secrets/" $path) }}
{{- fail (printf "extraVolumeMounts: something is mounted at %s already, take another mountPath" .mountPath) }}
{{- end }}
{{- $paths = append $paths $path }}
{{- end }}
{{- end }}

{{- /* https if Holdpoint has a certificate for clients, http if not. */ -}}
{{- define "holdpoint.scheme" -}}
{{- $has := hasKey .Values.config "HOLDPOINT_TLS_CERT_FILE" }}
{{- range .Values.extraEnv }}{{ $has = or $has (eq .name "HOLDPOINT_TLS_CERT_FILE") }}{{ end }}
{{- ternary "https" "http" $has }}
{{- end }}

{{- /* Refuses kinds that the cluster does not know. A cluster names each kind that it knows, and helm template has groups only. */ -}}
{{- define "holdpoint.kinds" -}}
{{- $versions := .Capabilities.APIVersions }}
{{- $v := .Values }}
{{- if $versions.Has "v1/Secret" }}
{{- range list
  (list $v.serviceMonitor.enabled "serviceMonitor" "monitoring.coreos.com/v1/ServiceMonitor" "the Prometheus operator")
  (list $v.prometheusRule.enabled "prometheusRule" "monitoring.coreos.com/v1/PrometheusRule" "the Prometheus operator")
  (list $v.httpRoute.enabled "httpRoute" "gateway.networking.k8s.io/v1/HTTPRoute" "the CRDs of Gateway API") }}
{{- $kind := index . 2 }}
{{- if and (index . 0) (not ($versions.Has $kind)) }}
{{- fail (printf "%s.enabled is true, but this cluster does not know the kind %s. It comes with %s: install that first, or set %s.enabled to false" (index . 1) $kind (index . 3) (index . 1)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Refuses names of Secrets, ConfigMaps and a claim that are not in the cluster. helm template asks none, and its list has no items. Helm keeps its releases in Secrets, so whoever installs may list them. */ -}}
{{- define "holdpoint.existing" -}}
{{- $v := .Values }}
{{- $namespace := .Release.Namespace }}
{{- $named := list
  (list "Secret" "store.passwordSecret" $v.store.passwordSecret)
  (list "Secret" "store.keysSecret" $v.store.keysSecret)
  (list "Secret" "principal.keySecret" $v.principal.keySecret)
  (list "Secret" "upstreamHeadersSecret" $v.upstreamHeadersSecret)
  (list "Secret" "webhook.urlSecret" $v.webhook.urlSecret)
  (list "Secret" "webhook.signingSecret" $v.webhook.signingSecret)
  (list "Secret" "desk.tokenSecret" $v.desk.tokenSecret)
  (list "ConfigMap" "webhook.template" $v.webhook.template)
  (list "ConfigMap" "desk.policy" $v.desk.policy) }}
{{- $any := $v.store.persistence.existingClaim }}
{{- range $named }}{{ $any = or $any (index . 2).name }}{{ end }}
{{- $secrets := dict }}
{{- if $any }}{{ $secrets = lookup "v1" "Secret" $namespace "" }}{{ end }}
{{- if hasKey $secrets "items" }}
{{- $data := dict }}
{{- range $secrets.items }}
{{- $_ := set $data .metadata.name (default dict .data) }}
{{- end }}
{{- range $named }}
{{- $kind := index . 0 }}
{{- $value := index . 1 }}
{{- $name := (index . 2).name }}
{{- $key := (index . 2).key }}
{{- if $name }}
{{- $have := get $data $name }}
{{- $there := hasKey $data $name }}
{{- if eq $kind "ConfigMap" }}
{{- $map := lookup "v1" "ConfigMap" $namespace $name }}
{{- $have = default dict $map.data }}
{{- $there = not (empty $map) }}
{{- end }}
{{- if not $there }}
{{- $command := ternary "create secret generic" "create configmap" (eq $kind "Secret") }}
{{- fail (printf "%s.name: the namespace %s has no %s %s. Make it by kubectl -n %s %s %s --from-file=%s=FILE. If something makes it later, set requireExisting to false" $value $namespace $kind $name $namespace $command $name $key) }}
{{- end }}
{{- if not (hasKey $have $key) }}
{{- fail (printf "%s.key: the %s %s has no key %s. Its keys: %s" $value $kind $name $key (keys $have | sortAlpha | join ", " | default "none")) }}
{{- end }}
{{- end }}
{{- end }}
{{- with $v.store.persistence.existingClaim }}
{{- if and (eq $v.store.type "bolt") (not (lookup "v1" "PersistentVolumeClaim" $namespace .)) }}
{{- fail (printf "store.persistence.existingClaim: the namespace %s has no PersistentVolumeClaim %s. Leave the value out, and the chart makes one" $namespace .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Whether there is a desk; empty if not. */ -}}
{{- define "holdpoint.desk" -}}
{{- if or .Values.desk.tokenSecret.name (ne .Values.desk.auth "token") }}yes{{ end }}
{{- end }}

{{- /* Variables that come of other values would be there twice. */ -}}
{{- define "holdpoint.owned" -}}
{{- $values := dict
  "HOLDPOINT_UPSTREAM" "upstream"
  "HOLDPOINT_UPSTREAM_HEADERS_FILE" "upstreamHeadersSecret"
  "HOLDPOINT_LISTEN" "service"
  "HOLDPOINT_ADMIN_LISTEN" "service"
  "HOLDPOINT_STORE" "store"
  "HOLDPOINT_STORE_PASSWORD" "store.passwordSecret"
  "HOLDPOINT_STORE_PASSWORD_FILE" "store.passwordSecret"
  "HOLDPOINT_STORE_KEYS" "store.keysSecret"
  "HOLDPOINT_STORE_KEYS_FILE" "store.keysSecret"
  "HOLDPOINT_PRINCIPAL_HEADER" "principal.header"
  "HOLDPOINT_TRUSTED_PEERS" "principal.trustedPeers"
  "HOLDPOINT_PRINCIPAL_KEY" "principal.keySecret"
  "HOLDPOINT_PRINCIPAL_KEY_FILE" "principal.keySecret"
  "HOLDPOINT_DESK_LISTEN" "desk.tokenSecret"
  "HOLDPOINT_DESK_AUTH" "desk.auth"
  "HOLDPOINT_POLICY" "desk.policy"
  "HOLDPOINT_DESK_TOKEN" "desk.tokenSecret"
  "HOLDPOINT_DESK_TOKEN_FILE" "desk.tokenSecret"
  "HOLDPOINT_WEBHOOK_URL" "webhook.urlSecret"
  "HOLDPOINT_WEBHOOK_URL_FILE" "webhook.urlSecret"
  "HOLDPOINT_WEBHOOK_SECRET" "webhook.signingSecret"
  "HOLDPOINT_WEBHOOK_SECRET_FILE" "webhook.signingSecret"
  "HOLDPOINT_WEBHOOK_TEMPLATE_FILE" "webhook.template"
  "HOLDPOINT_DRAIN_DELAY" "drainDelaySeconds"
  "HOLDPOINT_DRAIN_TIMEOUT" "terminationGracePeriodSeconds" }}
{{- if hasKey $values . }}
{{- fail (printf "%s is not set by config or extraEnv: set %s" . (get $values .)) }}
{{- end }}
{{- end }}

{{- define "holdpoint.container" -}}
- name: holdpoint
  image: {{ include "holdpoint.image" . | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  {{- if eq .Values.mode "sidecar" }}
  restartPolicy: Always
  {{- end }}
  {{- if eq .Values.mode "desk" }}
  args: [desk]
  {{- end }}
  env:
    {{- if ne .Values.mode "desk" }}
    - name: HOLDPOINT_UPSTREAM
      value: {{ default "http://127.0.0.1:8000/" .Values.upstream | quote }}
    {{- end }}
    - name: HOLDPOINT_ADMIN_LISTEN
      value: ":7081"
    - name: HOLDPOINT_STORE
      value: {{ get (dict "bolt" "bolt:///var/lib/holdpoint/state.db" "memory" "memory://") .Values.store.type | default .Values.store.url | quote }}
    - name: HOLDPOINT_DRAIN_DELAY
      value: "{{ include "holdpoint.drainDelay" . }}s"
    - name: HOLDPOINT_DRAIN_TIMEOUT
      value: "{{ include "holdpoint.drainTimeout" . }}s"
    {{- with .Values.store.passwordSecret.name }}
    - name: HOLDPOINT_STORE_PASSWORD_FILE
      value: /etc/holdpoint/secrets/store-password
    {{- end }}
    {{- with .Values.store.keysSecret.name }}
    - name: HOLDPOINT_STORE_KEYS_FILE
      value: /etc/holdpoint/secrets/store-keys
    {{- end }}
    {{- if .Values.principal.header }}
    - name: HOLDPOINT_PRINCIPAL_HEADER
      value: {{ .Values.principal.header | quote }}
    - name: HOLDPOINT_TRUSTED_PEERS
      value: {{ join ";" .Values.principal.trustedPeers | quote }}
    {{- end }}
    {{- with .Values.principal.keySecret.name }}
    - name: HOLDPOINT_PRINCIPAL_KEY_FILE
      value: /etc/holdpoint/secrets/principal-key
    {{- end }}
    {{- with .Values.upstreamHeadersSecret.name }}
    - name: HOLDPOINT_UPSTREAM_HEADERS_FILE
      value: /etc/holdpoint/secrets/upstream-headers
    {{- end }}
    {{- if .Values.desk.elsewhere }}
    - name: HOLDPOINT_DESK_LISTEN
      value: elsewhere
    {{- end }}
    {{- if include "holdpoint.desk" . }}
    - name: HOLDPOINT_DESK_LISTEN
      value: ":7082"
    - name: HOLDPOINT_DESK_AUTH
      value: {{ .Values.desk.auth }}
    {{- end }}
    {{- if .Values.desk.tokenSecret.name }}
    - name: HOLDPOINT_DESK_TOKEN_FILE
      value: /etc/holdpoint/secrets/desk-token
    {{- end }}
    {{- if .Values.desk.policy.name }}
    - name: HOLDPOINT_POLICY
      value: /etc/holdpoint/secrets/policy.yaml
    {{- end }}
    {{- with .Values.webhook.urlSecret }}
    {{- if .name }}
    - name: HOLDPOINT_WEBHOOK_URL
      valueFrom:
        secretKeyRef: {name: {{ .name | quote }}, key: {{ .key | quote }}}
    {{- end }}
    {{- end }}
    {{- with .Values.webhook.signingSecret.name }}
    - name: HOLDPOINT_WEBHOOK_SECRET_FILE
      value: /etc/holdpoint/secrets/webhook-secret
    {{- end }}
    {{- with .Values.webhook.template.name }}
    - name: HOLDPOINT_WEBHOOK_TEMPLATE_FILE
      value: /etc/holdpoint/secrets/webhook-template
    {{- end }}
    {{- range $name, $value := .Values.config }}
    - name: {{ $name }}
      value: {{ $value | toString | quote }}
    {{- end }}
    {{- with include "holdpoint.memory" . }}
    - name: GOMEMLIMIT
      value: {{ . }}
    {{- end }}
    {{- with .Values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.extraEnvFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    {{- if ne .Values.mode "desk" }}
    - name: agui
      containerPort: 7080
    {{- end }}
    - name: admin
      containerPort: 7081
    {{- if include "holdpoint.desk" . }}
    - name: desk
      containerPort: 7082
    {{- end }}
  startupProbe:
    httpGet: {path: /startupz, port: admin}
    periodSeconds: 1
    failureThreshold: {{ max 60 (add .Values.terminationGracePeriodSeconds 30) }}
  readinessProbe:
    httpGet: {path: /readyz, port: admin}
    periodSeconds: 2
    timeoutSeconds: 5
    failureThreshold: 3
  livenessProbe:
    httpGet: {path: /healthz, port: admin}
    timeoutSeconds: 5
    failureThreshold: 6
  {{- if eq .Values.mode "sidecar" }}
  lifecycle:
    preStop:
      exec: {command: ["/holdpoint", "drain"]}
  {{- end }}
  {{- with .Values.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- with .Values.runAsUser }}
    runAsUser: {{ int64 . }}
    {{- end }}
    {{- if not (kindIs "invalid" .Values.runAsGroup) }}
    runAsGroup: {{ int64 .Values.runAsGroup }}
    {{- end }}
    runAsNonRoot: true
    readOnlyRootFilesystem: true
    allowPrivilegeEscalation: false
    capabilities: {drop: [ALL]}
    seccompProfile: {type: RuntimeDefault}
  {{- $secrets := include "holdpoint.secrets" . }}
  {{- if or (eq .Values.store.type "bolt") $secrets .Values.extraVolumeMounts }}
  volumeMounts:
    {{- if eq .Values.store.type "bolt" }}
    - {name: state, mountPath: /var/lib/holdpoint}
    {{- end }}
    {{- if $secrets }}
    - {name: secrets, mountPath: /etc/holdpoint/secrets, readOnly: true}
    {{- end }}
    {{- with .Values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end }}

{{- /* The sources of the volume with secrets, the desk's policy and the webhook's template; empty if there are none. */ -}}
{{- define "holdpoint.secrets" -}}
{{- $sources := list }}
{{- range list (list .Values.store.passwordSecret "store-password") (list .Values.store.keysSecret "store-keys") (list .Values.principal.keySecret "principal-key") (list .Values.upstreamHeadersSecret "upstream-headers") (list .Values.webhook.signingSecret "webhook-secret") (list .Values.desk.tokenSecret "desk-token") }}
{{- $secret := first . }}
{{- if $secret.name }}
{{- $sources = append $sources (dict "secret" (dict "name" $secret.name "items" (list (dict "key" $secret.key "path" (last .))))) }}
{{- end }}
{{- end }}
{{- with .Values.desk.policy }}
{{- if .name }}
{{- $sources = append $sources (dict "configMap" (dict "name" .name "items" (list (dict "key" .key "path" "policy.yaml")))) }}
{{- end }}
{{- end }}
{{- with .Values.webhook.template }}
{{- if .name }}
{{- $sources = append $sources (dict "configMap" (dict "name" .name "items" (list (dict "key" .key "path" "webhook-template")))) }}
{{- end }}
{{- end }}
{{- with $sources }}{{ toYaml . }}{{ end }}
{{- end }}
