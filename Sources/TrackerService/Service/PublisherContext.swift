package import Logging
package import Store
package import TrackerCore

/// The part of a running service that its publishers and notification senders use.
package struct PublisherContext: Sendable {
    package let store: TrackerStore
    /// Creates an application API for one request.
    package let tracker: @Sendable () throws -> TrackerAPI
    /// Returns the settings of the store, overridden by the configuration file.
    package let settings: @Sendable () throws -> ServiceSettings
    /// Returns whether Waterline is shown on other machines.
    package let sharesWaterline: @Sendable () -> Bool
    /// Reports writes to the store by any process. If `nil`, the store is polled.
    package let watch: StoreWatch?
    package let log: Logger
    /// Returns a random number from 0 to 1.
    package let randomFraction: @Sendable () -> Double

    package init(
        _ store: TrackerStore, tracker: @escaping @Sendable () throws -> TrackerAPI,
        settings: @escaping @Sendable () throws -> ServiceSettings, sharesWaterline: @escaping @Sendable () -> Bool,
        watch: StoreWatch?, log: Logger, randomFraction: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        (self.store, self.tracker, self.settings) = (store, tracker, settings)
        (self.sharesWaterline, self.watch, self.log) = (sharesWaterline, watch, log)
        self.randomFraction = randomFraction
    }
}
