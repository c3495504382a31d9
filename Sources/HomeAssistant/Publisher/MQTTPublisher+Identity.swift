package import Store
package import TrackerCore
package import TrackerService

// The identity of a store at brokers: a client ID, bound to the location of the store's file.
extension MQTTPublisher {
    package static let prefixTaken = "mqttPrefixTaken"
    private static let copied = "mqttCopied"

    /// The client ID and location of a store; `nil` if the store has never been published.
    package static func identity(of store: TrackerStore) throws -> (client: String, path: String?)? {
        try store.identity(of: name).map { (MQTTPlan.client($0.id), $0.path) }
    }

    /// Binds the identity to this file.
    /// - Parameters:
    ///   - asNew: whether to create a new client ID, because the store is a copy.
    ///   - overlay: applies the configuration to the settings.
    package static func bindIdentity(
        _ tracker: TrackerAPI, at location: PublisherLocation, asNew: Bool, overlay: (Settings) throws -> Settings
    ) throws {
        guard asNew else { return try tracker.store.adoptLocation(location, of: name) }
        guard try tracker.store.checkLocation(location, of: name) != .accepted else {
            throw Refusal("mqttKnown", "This store is not a copy: it keeps its client ID. Nothing was changed.")
        }
        let prefix = try overlay(tracker.store.settings()).service.mqttPrefix
        let retained = try tracker.store.retainedByOriginal(of: name, at: location)
        guard !retained.contains(where: { $0.hasPrefix("\(prefix)/") }) else {
            throw Refusal(
                prefixTaken,
                """
                The original of this store also publishes at \(prefix)/…: set another mqtt.prefix first. Nothing was \
                changed.
                """, values: ["prefix": prefix])
        }
        try tracker.store.adoptLocation(location, of: name, newID: newID(tracker))
    }

    static func newID(_ tracker: TrackerAPI) -> String {
        String(tracker.context.makeID().filter { $0 != "-" }.prefix(12))
    }

    nonisolated func isCopy(_ error: any Error) -> Bool { (error as? any Problem)?.code == Self.copied }

    /// Checks that the store is not a copy of another published store.
    /// - Throws: `Refusal` if the store might be a copy. Two clients with one ID would disconnect each other.
    nonisolated func checkLocation(_ id: String) throws {
        guard let location = dependencies.publisherLocation() else { return }
        let client = MQTTPlan.client(id)
        let (path, source): (String, String)
        switch try context.tracker().store.checkLocation(location, of: Self.name) {
        case .accepted: return
        case .copy(let original):
            (path, source) = (original, "is a copy or a backup of \(original), which still exists and is published")
        case .onAnotherMachine(let original):
            (path, source) = (
                original, "comes from another machine or disk (\(original) there), which may be published"
            )
        }
        throw Refusal(
            Self.copied,
            "This store \(source) as \(client). It is not published until you choose whether it was moved or copied.",
            values: ["path": path, "client": client])
    }
}
