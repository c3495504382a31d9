import Logging

/// What a server says while it runs. A server that is told to stop calls its own end an error: nobody has to read that.
struct RunningLog: LogHandler {
    private var log: any LogHandler

    init(_ log: any LogHandler) { self.log = log }

    func log(event: LogEvent) {
        if !Task.isCancelled { log.log(event: event) }
    }

    var logLevel: Logger.Level {
        get { log.logLevel }
        set { log.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { log.metadata }
        set { log.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { log[metadataKey: key] }
        set { log[metadataKey: key] = newValue }
    }
}
