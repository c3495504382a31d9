import CommandKit
import Logging

/// What the service says about one of several people: a command in it is that person's.
struct PersonLog: LogHandler {
    private var log: any LogHandler
    private let person: String

    init(_ log: any LogHandler, person: String) {
        self.log = log
        self.person = person
    }

    func log(event: LogEvent) {
        var event = event
        event.message = "\(PrintedCommands.current.adding("--person", person).completed("\(event.message)"))"
        log.log(event: event)
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
