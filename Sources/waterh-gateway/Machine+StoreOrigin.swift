import CommandSupport
import Foundation
import Store

extension Machine {
    /// The machine ID and the store's path, by which the MQTT publisher detects a copied store.
    static func storeOrigin(of path: String) -> StoreOrigin {
        let handle = FileHandle(forReadingAtPath: "/etc/machine-id")
        let number = (try? handle?.read(upToCount: 64)).flatMap { $0 } ?? Data()
        return StoreOrigin(machine: String(decoding: number, as: UTF8.self), path: path)
    }
}
