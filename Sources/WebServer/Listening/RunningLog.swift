import Logging

/// What a server says while it runs. A server that is told to stop calls its own end an error: nobody has to read that.
struct RunningLog: LogHandler {
    private var log: any LogHandler

    private let isStopping: @Sendable () -> Bool

    init(_ log: any LogHandler, isStopping: @escaping @Sendable () -> Bool) {
        (self.log, self.isStopping) = (log, isStopping)
    }

    func log(event: LogEvent) {
        if !isStopping() { log.log(event: event) }
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
