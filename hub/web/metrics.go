package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"claude-hub/hub/screen"
)

// Metrics counts what the Hub does. Its Handler belongs on a listener of its own: it has no principal.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	streams  prometheus.Gauge
	pages    prometheus.Gauge
	viewers  prometheus.Gauge
	frameIn  prometheus.Counter
	frameOut prometheus.Counter
}

// NewMetrics makes the counters.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "claude_hub_requests_total", Help: "Requests that have ended."}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "claude_hub_request_seconds", Help: "How long requests took, streams not among them.",
			Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10}}, []string{"route"}),
		streams:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "claude_hub_runner_streams", Help: "Runners linked to this Hub process."}),
		pages:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "claude_hub_pages", Help: "Pages that listen for changes."}),
		viewers:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "claude_hub_viewers", Help: "Terminals that are open in browsers."}),
		frameIn:  prometheus.NewCounter(prometheus.CounterOpts{Name: "claude_hub_screen_in_bytes_total", Help: "Terminal bytes from Runners."}),
		frameOut: prometheus.NewCounter(prometheus.CounterOpts{Name: "claude_hub_screen_out_bytes_total", Help: "Terminal bytes to browsers."}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.streams, m.pages, m.viewers, m.frameIn, m.frameOut,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler answers Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// watch adds what other rooms count.
func (m *Metrics) watch(s *server) {
	if s.feeds == nil {
		return
	}
	count := func(name, help string, of func(screen.Stats) float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return of(s.feeds.Stats()) }))
	}
	count("claude_hub_screen_behind_total", "Times a viewer fell behind and was cut to a snapshot.", func(s screen.Stats) float64 { return float64(s.Behind) })
	count("claude_hub_screen_gaps_total", "Times a feed missed output and asked anew.", func(s screen.Stats) float64 { return float64(s.Gaps) })
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "claude_hub_feeds", Help: "Sessions that someone watches."},
		func() float64 { return float64(s.feeds.Stats().Feeds) }))
}

func (m *Metrics) request(rec *record, took time.Duration, stream bool) {
	m.requests.WithLabelValues(rec.pattern, strconv.Itoa(rec.status)).Inc()
	if !stream {
		m.seconds.WithLabelValues(rec.pattern).Observe(took.Seconds())
	}
}
